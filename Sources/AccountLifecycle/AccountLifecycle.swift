// AccountLifecycle: filled by its first commit.
