// HTTPCalls: filled by its first commit.
