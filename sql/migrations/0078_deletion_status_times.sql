-- accountctl: bundle=core
-- Times in a deletion's status are written in UTC, whatever the time zone of the database: supabase-swift reads a time without its
-- offset, and an app would show another hour at which cancelling ends.

alter function accountctl.deletion_status_document(uuid) set timezone = 'UTC';
