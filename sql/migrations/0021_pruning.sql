-- accountctl: bundle=core
-- Rows that had no end: the upkeep of deletions removes them, and finds them by these.

create index authorization_codes_settled_at_idx
    on accountctl.authorization_codes (settled_at)
    where settled_at is not null;
create index credential_events_nobodys_idx
    on accountctl.credential_events (received_at)
    where user_id is null;
create index pending_revocations_settled_at_idx
    on accountctl.pending_revocations (settled_at)
    where settled_at is not null;
