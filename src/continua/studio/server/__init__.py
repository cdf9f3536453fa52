"""The web server of the studio, and its access control."""
