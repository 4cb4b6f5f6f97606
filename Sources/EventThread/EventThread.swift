// EventThread: filled by its first commit.
