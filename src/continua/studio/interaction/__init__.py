"""Interaction with a running world by mouse."""
