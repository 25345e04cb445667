"""Finding again what is no longer in sight."""
