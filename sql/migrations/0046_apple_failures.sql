-- accountctl: bundle=core
-- How often Apple failed, apart from what the database refused: only the first says that waiting for Apple is of no use.

alter table accountctl.deletion_requests
    add column apple_failures integer not null default 0;

comment on column accountctl.deletion_requests.apple_failures is
    'How often in a row revoking failed at Apple; with enough of them the credential is handed over to later attempts.';
