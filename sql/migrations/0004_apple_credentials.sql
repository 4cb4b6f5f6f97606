-- accountctl: bundle=core
-- What Apple gave for an account, what is on its way to Apple, and what Apple or a device told about it.

-- No grants to anybody: a code is a bearer secret for the five minutes it lives. Jobs carry its id only.
create table accountctl.authorization_codes (
    id bigint generated always as identity primary key,
    user_id uuid not null references auth.users on delete cascade,
    code text,
    client_id text,
    redirect_uri text,
    state text not null default 'received',
    received_at timestamptz not null default now(),
    expires_at timestamptz not null default now() + interval '5 minutes',
    tried_at timestamptz,
    settled_at timestamptz,
    constraint authorization_codes_state check (
        state in ('received', 'exchanging', 'exchanged', 'refused', 'expired', 'wrong_account', 'grant_unknown')
    ),
    -- Wiped on use or when it expires: a settled row keeps no secret.
    constraint authorization_codes_wiped check ((code is not null) = (state in ('received', 'exchanging'))),
    constraint authorization_codes_settled check ((settled_at is null) = (state in ('received', 'exchanging'))),
    constraint authorization_codes_code check (octet_length(code) between 1 and 2048),
    constraint authorization_codes_client_id check (client_id ~ '^[A-Za-z0-9][A-Za-z0-9._-]{0,254}$'),
    constraint authorization_codes_redirect_uri check (octet_length(redirect_uri) between 1 and 2048)
);

comment on table accountctl.authorization_codes is
    'Authorization codes of Sign in with Apple, until they are exchanged or expire (five minutes, single use).';
comment on column accountctl.authorization_codes.state is
    'exchanging: the call to Apple may have happened. grant_unknown: it did, and the answer was lost.';

-- Counted for the limit per account; read to tell whether a code is on its way.
create index authorization_codes_user_id_idx
    on accountctl.authorization_codes (user_id, received_at);
-- What the expiry asks.
create index authorization_codes_open_idx
    on accountctl.authorization_codes (expires_at)
    where code is not null;

create table accountctl.apple_credentials (
    id bigint generated always as identity primary key,
    user_id uuid not null references auth.users on delete cascade,
    client_id text not null,
    apple_sub text not null,
    sealed_token text not null,
    sealing_key_id text not null,
    obtained_at timestamptz not null default now(),
    checked_at timestamptz,
    check_after timestamptz not null default now() + interval '1 day',
    constraint apple_credentials_client_id check (client_id ~ '^[A-Za-z0-9][A-Za-z0-9._-]{0,254}$'),
    constraint apple_credentials_account_key unique (user_id, client_id)
);

comment on table accountctl.apple_credentials is
    'The refresh token that Apple gave for one account and one client id, sealed and bound to both.';
comment on column accountctl.apple_credentials.apple_sub is
    'Whom the token speaks for. Compared with the account''s identities before anything is revoked.';
comment on column accountctl.apple_credentials.check_after is 'When the daily check may ask Apple again.';

create index apple_credentials_check_after_idx
    on accountctl.apple_credentials (check_after);
create index apple_credentials_sealing_key_id_idx
    on accountctl.apple_credentials (sealing_key_id);

create table accountctl.pending_revocations (
    id bigint generated always as identity primary key,
    request_id uuid references accountctl.deletion_requests,
    client_id text not null,
    sealed_token text,
    sealing_key_id text,
    binding uuid not null default gen_random_uuid(),
    state text not null default 'waiting',
    created_at timestamptz not null default now(),
    attempts integer not null default 0,
    last_tried_at timestamptz,
    last_outcome text,
    give_up_at timestamptz not null,
    settled_at timestamptz,
    constraint pending_revocations_state check (state in ('waiting', 'revoked', 'given_up', 'refused')),
    constraint pending_revocations_settled check ((settled_at is null) = (state = 'waiting')),
    constraint pending_revocations_wiped check ((sealed_token is not null) = (state = 'waiting')),
    constraint pending_revocations_key check ((sealed_token is null) = (sealing_key_id is null)),
    constraint pending_revocations_client_id check (client_id ~ '^[A-Za-z0-9][A-Za-z0-9._-]{0,254}$')
);

comment on table accountctl.pending_revocations is
    'Credentials of erased accounts that Apple could not revoke in time. They name no user and are tried until give_up_at.';
comment on column accountctl.pending_revocations.binding is 'What the sealed token is bound to instead of a user.';

create index pending_revocations_request_id_idx
    on accountctl.pending_revocations (request_id);
create index pending_revocations_waiting_idx
    on accountctl.pending_revocations (last_tried_at nulls first)
    where state = 'waiting';

create table accountctl.credential_events (
    id bigint generated always as identity primary key,
    source text not null,
    kind text not null,
    client_id text,
    user_id uuid references auth.users on delete cascade,
    notification_id text,
    happened_at timestamptz not null default now(),
    received_at timestamptz not null default now(),
    handled_at timestamptz,
    outcome text,
    facts jsonb,
    constraint credential_events_source check (source in ('apple', 'device', 'check')),
    constraint credential_events_kind check (kind ~ '^[a-z][a-z0-9_.-]{0,63}$'),
    constraint credential_events_client_id check (client_id ~ '^[A-Za-z0-9][A-Za-z0-9._-]{0,254}$'),
    constraint credential_events_notification check ((notification_id is not null) = (source = 'apple')),
    constraint credential_events_handled check ((handled_at is null) = (outcome is null))
);

comment on table accountctl.credential_events is
    'What Apple, a device or our own check told about a credential. Goes with its account.';
comment on column accountctl.credential_events.notification_id is
    'issuer, audience and jti of Apple''s notification: a second delivery is the same event.';

create unique index credential_events_notification_key
    on accountctl.credential_events (notification_id)
    where notification_id is not null;
create index credential_events_user_id_idx
    on accountctl.credential_events (user_id, received_at);
create index credential_events_unhandled_idx
    on accountctl.credential_events (received_at)
    where handled_at is null;

-- Stores a code and enqueues its exchange; the reader of the job finds the code by this id.
create function accountctl.store_authorization_code(
    subject uuid,
    authorization_code text,
    client_id text default null,
    redirect_uri text default null
)
returns bigint
language plpgsql
volatile
security definer
set search_path = ''
as $$
declare
    code_id bigint;
begin
    insert into accountctl.authorization_codes (user_id, code, client_id, redirect_uri)
    values (
        subject,
        store_authorization_code.authorization_code,
        store_authorization_code.client_id,
        store_authorization_code.redirect_uri
    )
    returning id into code_id;
    -- The highest priority: in five minutes the code is worth nothing.
    perform accountctl.enqueue_job(
        kind => 'apple.exchange_code',
        args => jsonb_build_object('code', code_id),
        queue => 'apple',
        priority => 0::smallint,
        unique_key => 'apple.exchange_code:' || code_id
    );
    return code_id;
end;
$$;

comment on function accountctl.store_authorization_code is
    'Stores an authorization code and enqueues its exchange in the same transaction; returns the id of the code.';

revoke all on function accountctl.store_authorization_code(uuid, text, text, text) from public;
