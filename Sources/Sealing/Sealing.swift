// Sealing: filled by its first commit.
