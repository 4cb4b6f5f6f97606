-- accountctl: bundle=core
-- What tells another hash key of the same name from the one that made the hashes here.

create table accountctl.hash_key_canaries (
    key_id text primary key,
    canary bytea not null,
    created_at timestamptz not null default now(),
    constraint hash_key_canaries_key_id check (key_id ~ '^[A-Za-z0-9_-]{1,32}$'),
    constraint hash_key_canaries_canary check (octet_length(canary) = 32)
);

comment on table accountctl.hash_key_canaries is
    'The hash of a known text under each hash key that was ever used here: with another key of that name receipts would look changed, and erased accounts as if they had never been.';
comment on column accountctl.hash_key_canaries.canary is 'HMAC-SHA256 of a fixed text; says nothing about any account.';
