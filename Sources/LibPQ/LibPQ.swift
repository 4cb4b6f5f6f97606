// LibPQ: filled by its first commit.
