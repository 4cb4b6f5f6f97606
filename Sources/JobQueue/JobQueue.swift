// JobQueue: filled by its first commit.
