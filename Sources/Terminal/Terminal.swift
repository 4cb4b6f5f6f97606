// Terminal: filled by its first commit.
