-- accountctl: bundle=core
-- What following a credential through its life needs besides 0004: what the daily check saw, marks, canaries, the inbox.

alter table accountctl.apple_credentials
    add column last_live_at timestamptz,
    add column doubts smallint not null default 0;

comment on column accountctl.apple_credentials.last_live_at is
    'When Apple last said that the grant lives. A refusal of one credential counts while another of the same client id lives.';
comment on column accountctl.apple_credentials.doubts is
    'Checks in a row to which Apple gave an answer that may be the account''s or our fault.';

create index apple_credentials_client_id_idx
    on accountctl.apple_credentials (client_id, last_live_at);

create table accountctl.apple_identity_marks (
    user_id uuid primary key references auth.users on delete cascade,
    state text not null,
    since timestamptz not null,
    constraint apple_identity_marks_state check (state in ('consent_revoked', 'account_deleted', 'transferred'))
);

comment on table accountctl.apple_identity_marks is
    'What Apple said last about the identity of an account. Not kept in auth.identities: the auth server writes there at each sign-in.';
comment on column accountctl.apple_identity_marks.since is 'When it happened at Apple. A later sign-in makes it history.';

create table accountctl.sealing_canaries (
    key_id text primary key,
    canary text not null,
    created_at timestamptz not null default now(),
    constraint sealing_canaries_key_id check (key_id ~ '^[A-Za-z0-9_-]{1,32}$')
);

comment on table accountctl.sealing_canaries is
    'A known text under each sealing key that was ever used here: tells another key of the same name at the start, not at the first loss.';

create table accountctl.apple_inbox (
    id bigint generated always as identity primary key,
    digest bytea not null unique,
    body text not null,
    received_at timestamptz not null default now(),
    constraint apple_inbox_digest check (octet_length(digest) = 32),
    constraint apple_inbox_body check (octet_length(body) between 1 and 32768)
);

comment on table accountctl.apple_inbox is
    'Notifications as they came, unverified, where no listener runs. The worker verifies and removes them; nothing here is believed.';

-- For an edge function, say, that can reach the database and no worker. Bounded in size and number, so that whoever can call it
-- cannot fill the disk; a full inbox refuses, and Apple may try again.
create function accountctl.receive_apple_notification(body text)
returns boolean
language plpgsql
volatile
security definer
set search_path = ''
as $$
begin
    if octet_length(body) is null or octet_length(body) not between 1 and 32768 then
        raise exception 'the body of a notification has 1 to 32768 bytes' using errcode = '22023';
    end if;
    if 1000 <= (select count(*) from accountctl.apple_inbox) then
        raise exception 'the inbox is full; is a worker running?' using errcode = '53400';
    end if;
    insert into accountctl.apple_inbox (digest, body)
    values (sha256(convert_to(receive_apple_notification.body, 'UTF8')), receive_apple_notification.body)
    on conflict (digest) do nothing;
    return found;
end;
$$;

comment on function accountctl.receive_apple_notification is
    'Stores the body of a notification for the worker to verify; false when it is there already.';

revoke all on function accountctl.receive_apple_notification(text) from public;

-- Moving users to another team: one row per account, client id and recipient, so that a run can stop and go on anywhere.
create table accountctl.apple_transfers (
    id bigint generated always as identity primary key,
    user_id uuid not null references auth.users on delete cascade,
    client_id text not null,
    target_team text not null,
    old_sub text,
    transfer_identifier text,
    new_sub text,
    new_email text,
    is_private_email boolean,
    state text not null,
    reason text,
    updated_at timestamptz not null default now(),
    constraint apple_transfers_state check (state in ('generated', 'exchanged', 'applied', 'refused', 'conflict')),
    constraint apple_transfers_client_id check (client_id ~ '^[A-Za-z0-9][A-Za-z0-9._-]{0,254}$'),
    constraint apple_transfers_target_team check (target_team ~ '^[A-Za-z0-9]{10}$'),
    constraint apple_transfers_identifier check (state = 'refused' or transfer_identifier is not null),
    constraint apple_transfers_new_sub check (state not in ('exchanged', 'applied', 'conflict') or new_sub is not null),
    constraint apple_transfers_account_key unique (user_id, client_id, target_team)
);

comment on table accountctl.apple_transfers is
    'Team transfers: what Apple calls a user on the way, and what the user is called afterwards. Goes with its account.';
comment on column accountctl.apple_transfers.state is
    'refused: Apple cannot move this user, usually for having revoked. conflict: the new sub or address has an account already.';

create index apple_transfers_state_idx
    on accountctl.apple_transfers (client_id, target_team, state, id);
