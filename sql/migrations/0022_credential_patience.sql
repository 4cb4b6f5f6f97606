-- accountctl: bundle=core
-- Events that Apple gives no answer about step back instead of standing in the way of newer ones, and say which identity of the
-- account they are about.

alter table accountctl.credential_events
    add column next_try_at timestamptz not null default now(),
    add column tries smallint not null default 0,
    add column identity_id uuid;

comment on column accountctl.credential_events.next_try_at is 'When an event that waits may be handled again.';
comment on column accountctl.credential_events.identity_id is
    'Which of the account''s rows in auth.identities it is about; null where the teller did not say.';

drop index accountctl.credential_events_unhandled_idx;
create index credential_events_waiting_idx
    on accountctl.credential_events (next_try_at, id)
    where handled_at is null;
-- How many were found gone lately: the brake of the daily check asks.
create index credential_events_check_idx
    on accountctl.credential_events (client_id, received_at)
    where source = 'check';
