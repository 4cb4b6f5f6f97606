// Settings: filled by its first commit.
