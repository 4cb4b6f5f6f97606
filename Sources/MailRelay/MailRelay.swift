// MailRelay: filled by its first commit.
