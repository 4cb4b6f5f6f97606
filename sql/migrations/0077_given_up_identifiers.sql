-- accountctl: bundle=core
-- Identifiers that an operator gives up with their key are wiped from now on: what is sealed with such a request was collected since,
-- and its key is counted as every other. Until now they were left as they were, and the mark, which the next collection took off
-- again, kept them from being opened and counted.

update accountctl.deletion_requests
set sealed_identifiers = null,
    sealing_key_id = null
where without_identifiers
and sealed_identifiers is not null;

comment on column accountctl.deletion_requests.without_identifiers is
    'Identifiers were given up with their key, for good: what is searched for besides the user id is what the account showed since, and the proof says so.';
