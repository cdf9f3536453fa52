"""Forces on fluid particles other than pressure."""
