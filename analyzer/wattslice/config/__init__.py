"""Options and settings, put together into one frozen `Config` before anything is read."""
