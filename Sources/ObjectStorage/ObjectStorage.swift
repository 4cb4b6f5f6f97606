// ObjectStorage: filled by its first commit.
