// Filled by its first commit.
