-- accountctl: bundle=core
-- Deletion requests: the state of each, what was done for it, what may hold it, and the evidence that stays.
--
-- The user id of a deletion stands in deletion_requests and nowhere else in this schema. With the receipt it becomes a
-- keyed hash. No other column here, and no jsonb value, may hold a user id, an e-mail address, an Apple sub or a code.

create table accountctl.deletion_requests (
    id uuid primary key default gen_random_uuid(),
    user_id uuid,
    subject_hash bytea,
    subject_key_id text,
    origin text not null,
    reason text,
    state text not null default 'requested',
    situation jsonb,
    situation_since timestamptz,
    requested_at timestamptz not null default now(),
    run_after timestamptz not null,
    legal_deadline timestamptz not null,
    paused_at timestamptz,
    without_apple boolean not null default false,
    without_identifiers boolean not null default false,
    apple_waiting_since timestamptz,
    apple_outcome text,
    apple_counts jsonb not null default '{}',
    counted_at timestamptz,
    locked_out_at timestamptz,
    banned_until_before timestamptz,
    settle_after timestamptz,
    finished_at timestamptz,
    failures integer not null default 0,
    sealed_identifiers text,
    sealing_key_id text,
    constraint deletion_requests_state check (
        state in (
            'requested', 'grace', 'held', 'blocked', 'waiting_for_apple', 'running', 'settling', 'residue',
            'verified', 'cancelled'
        )
    ),
    constraint deletion_requests_origin check (origin in ('app', 'operator', 'apple')),
    constraint deletion_requests_reason check (char_length(reason) <= 1000),
    constraint deletion_requests_apple_outcome check (
        apple_outcome in ('revoked', 'not_held', 'pending', 'not_revoked', 'grant_unknown')
    ),
    constraint deletion_requests_subject check (num_nonnulls(user_id, subject_hash) = 1),
    constraint deletion_requests_subject_key check ((subject_hash is null) = (subject_key_id is null)),
    constraint deletion_requests_sealed check ((sealed_identifiers is null) = (sealing_key_id is null)),
    constraint deletion_requests_finished check ((finished_at is null) = (state not in ('verified', 'cancelled'))),
    constraint deletion_requests_forgotten check (
        state <> 'verified'
        or (user_id is null and reason is null and sealed_identifiers is null)
    ),
    constraint deletion_requests_begun check (
        state not in ('running', 'settling', 'residue', 'verified')
        or locked_out_at is not null
    ),
    constraint deletion_requests_settling check (state <> 'settling' or settle_after is not null),
    constraint deletion_requests_deadline check (legal_deadline > requested_at)
);

comment on table accountctl.deletion_requests is
    'One row for each time an account asked to be erased: where it stands and what it waits for.';
comment on column accountctl.deletion_requests.user_id is
    'The account. Becomes subject_hash with the receipt; stands nowhere else in this schema.';
comment on column accountctl.deletion_requests.subject_hash is
    'HMAC of the user id under subject_key_id, so that an erased account is found again by its id alone.';
comment on column accountctl.deletion_requests.reason is
    'The words of the person or operator who asked. Removed with the receipt.';
comment on column accountctl.deletion_requests.situation is
    'Why the request stands still: a stable code and facts about tables and constraints, never about the person.';
comment on column accountctl.deletion_requests.run_after is 'The end of grace. Until the lock-out the person can cancel.';
comment on column accountctl.deletion_requests.legal_deadline is
    'One calendar month after the request (GDPR 12(3)), clamped to the last day of a shorter month.';
comment on column accountctl.deletion_requests.without_apple is 'An operator decided to go on without revoking at Apple.';
comment on column accountctl.deletion_requests.without_identifiers is
    'The key of sealed_identifiers is lost: an operator decided to search for the user id alone.';
comment on column accountctl.deletion_requests.apple_waiting_since is
    'Since when Apple could not be used for it. apple.give_up counts from here.';
comment on column accountctl.deletion_requests.apple_counts is
    'What became of each credential so far, by outcome: the credentials themselves are gone by then.';
comment on column accountctl.deletion_requests.counted_at is
    'When the hourly ceiling let the request pass. Counted even if the run then met a fault.';
comment on column accountctl.deletion_requests.locked_out_at is
    'When the account was locked out. From here account_open() is false and nobody but an operator can cancel.';
comment on column accountctl.deletion_requests.banned_until_before is
    'The ban that the lock-out replaced, put back when an operator cancels.';
comment on column accountctl.deletion_requests.settle_after is
    'When the last access token issued before the lock-out has expired; the last sweep runs after it.';
comment on column accountctl.deletion_requests.sealed_identifiers is
    'What verify searches for, sealed and bound to this request and its user. Removed with the receipt.';

-- One open request per account: the second of two requests at once finds the first.
create unique index deletion_requests_open_key
    on accountctl.deletion_requests (user_id)
    where user_id is not null and finished_at is null;
-- The account of a request that ended by cancelling: erased later, its id must be found and hashed too.
create index deletion_requests_user_id_idx
    on accountctl.deletion_requests (user_id)
    where user_id is not null and finished_at is not null;
create index deletion_requests_subject_hash_idx
    on accountctl.deletion_requests (subject_hash)
    where subject_hash is not null;
-- What lists, alarms and the reconciler ask: the open ones, oldest first.
create index deletion_requests_open_idx
    on accountctl.deletion_requests (requested_at)
    where finished_at is null;
-- The hourly ceiling counts the last hour.
create index deletion_requests_counted_at_idx
    on accountctl.deletion_requests (counted_at)
    where counted_at is not null;

create table accountctl.deletion_status_tokens (
    token_hash bytea primary key,
    request_id uuid not null references accountctl.deletion_requests on delete cascade,
    created_at timestamptz not null default now(),
    constraint deletion_status_tokens_length check (octet_length(token_hash) = 32)
);

comment on table accountctl.deletion_status_tokens is
    'SHA-256 of the opaque tokens that show the state of a request after its account is gone.';

create index deletion_status_tokens_request_id_idx
    on accountctl.deletion_status_tokens (request_id, created_at);

create table accountctl.deletion_steps (
    request_id uuid not null references accountctl.deletion_requests on delete cascade,
    step text not null,
    runs integer not null default 0,
    started_at timestamptz,
    finished_at timestamptz,
    outcome text,
    facts jsonb,
    primary key (request_id, step),
    constraint deletion_steps_step check (
        step in (
            'preflight', 'lock_out', 'revoke_apple', 'delete_avatars', 'delete_rows', 'scrub_auth', 'verify',
            'settle', 'receipt'
        )
    ),
    constraint deletion_steps_outcome check (outcome is null or outcome ~ '^[a-z][a-z_]{1,40}$'),
    constraint deletion_steps_finished check ((finished_at is null) = (outcome is null)),
    constraint deletion_steps_runs check (runs >= 0)
);

comment on table accountctl.deletion_steps is
    'What was done for each request. started_at without finished_at is a step that runs, or died while it ran.';
comment on column accountctl.deletion_steps.facts is 'Counts and names of tables and columns; nothing about the person.';

create table accountctl.deletion_receipts (
    number bigint generated always as identity primary key,
    request_id uuid not null unique references accountctl.deletion_requests,
    subject_hash bytea not null,
    subject_key_id text not null,
    issued_at timestamptz not null default now(),
    document jsonb not null,
    seal bytea not null,
    constraint deletion_receipts_document check (jsonb_typeof(document) = 'object')
);

comment on table accountctl.deletion_receipts is 'The evidence of each erasure, without the erased data.';
comment on column accountctl.deletion_receipts.seal is
    'HMAC of the document under subject_key_id: shows that nobody rewrote it without the key.';

create index deletion_receipts_subject_hash_idx
    on accountctl.deletion_receipts (subject_hash);

create table accountctl.holds (
    id bigint generated always as identity primary key,
    user_id uuid references auth.users on delete restrict,
    reason text not null,
    placed_by text not null,
    placed_at timestamptz not null default now(),
    released_by text,
    released_at timestamptz,
    constraint holds_reason check (char_length(reason) between 1 and 1000),
    constraint holds_released check (
        (released_at is null) = (user_id is not null)
        and (released_at is null) = (released_by is null)
    )
);

comment on table accountctl.holds is
    'Accounts that law forbids to erase for now. The foreign key refuses a delete by any other way, too.';
comment on column accountctl.holds.user_id is 'Removed when the hold is released, so that the row outlives the account.';

create index holds_user_id_idx
    on accountctl.holds (user_id);

create table accountctl.accepted_columns (
    column_name text primary key,
    reason text not null,
    accepted_by text not null,
    accepted_at timestamptz not null default now(),
    constraint accepted_columns_reason check (char_length(reason) between 1 and 1000)
);

comment on table accountctl.accepted_columns is
    'Columns (schema.table.column) that may keep an identifier of an erased account, and why. Receipts name them.';

-- One row: the brake of everything, and the lock under which the hourly ceiling is counted.
create table accountctl.deletion_brakes (
    only_row boolean primary key default true,
    paused_at timestamptz,
    paused_by text,
    paused_reason text,
    constraint deletion_brakes_only_row check (only_row),
    constraint deletion_brakes_paused check ((paused_at is null) = (paused_by is null))
);

comment on table accountctl.deletion_brakes is 'The brake of all deletions. Looked at before each irreversible step.';

insert into accountctl.deletion_brakes default values;

-- A duration among the settings. A value that is no interval is an error, not the default: it was meant to say something.
create function accountctl.setting_interval(name text, fallback interval)
returns interval
language sql
stable
set search_path = ''
begin atomic
    select coalesce(
        (
            select (settings.value #>> '{}')::interval
            from accountctl.settings
            where settings.name = setting_interval.name
        ),
        fallback
    );
end;

comment on function accountctl.setting_interval is 'A duration among the settings, or the fallback where it is not set.';

-- Replaces the version of 0001, which knows of no deletions. Restrictive policies ask it on every write of the account.
create or replace function accountctl.account_open()
returns boolean
language sql
stable
security definer
set search_path = ''
begin atomic
    select exists (
        select
        from auth.users
        where users.id = (select auth.uid())
          and (users.banned_until is null or users.banned_until <= now())
          and users.deleted_at is null
          and not exists (
              select
              from accountctl.deletion_requests
              where deletion_requests.user_id = users.id
                and deletion_requests.finished_at is null
                and deletion_requests.locked_out_at is not null
          )
    );
end;

-- Opens a request for an account, or finds the open one. The only door: the app's function and the operator's command
-- both come through here.
create function accountctl.open_deletion_request(
    subject uuid,
    origin text,
    reason text default null,
    grace interval default null
)
returns table (request_id uuid, opened boolean)
language plpgsql
volatile
security definer
set search_path = ''
as $$
declare
    waits interval := greatest(coalesce(grace, accountctl.setting_interval('deletion.grace', '24 hours')), '0');
begin
    -- The loop is for a request that is found open and cancelled before it can be read: the next round opens a new one.
    loop
        insert into accountctl.deletion_requests (user_id, origin, reason, state, run_after, legal_deadline)
        values (
            subject,
            open_deletion_request.origin,
            nullif(btrim(open_deletion_request.reason), ''),
            case when waits > '0' then 'grace' else 'requested' end,
            now() + waits,
            now() + interval '1 month'
        )
        on conflict (user_id) where user_id is not null and finished_at is null do nothing
        returning deletion_requests.id into request_id;
        opened := found;
        if not opened then
            select deletion_requests.id
            into request_id
            from accountctl.deletion_requests
            where deletion_requests.user_id = subject
              and deletion_requests.finished_at is null;
        end if;
        exit when request_id is not null;
    end loop;
    if opened then
        perform accountctl.enqueue_job(
            kind => 'account.delete',
            args => jsonb_build_object('request', request_id),
            queue => 'deletions',
            run_at => now() + waits,
            unique_key => 'account.delete:' || request_id
        );
    end if;
    return next;
end;
$$;

comment on function accountctl.open_deletion_request is
    'Opens a deletion request, or finds the open one of the account; enqueues its job in the same transaction.';

-- Cancels the open request of an account while nothing irreversible was done; tells what it found.
create function accountctl.cancel_deletion_request(request_id uuid)
returns text
language plpgsql
volatile
security definer
set search_path = ''
as $$
declare
    request accountctl.deletion_requests;
begin
    -- Waits for a lock-out in flight: whoever comes second sees what the first decided.
    select *
    into request
    from accountctl.deletion_requests
    where id = request_id
    for update;
    if not found then
        return 'unknown';
    end if;
    if request.state = 'cancelled' then
        return 'cancelled';
    end if;
    if request.locked_out_at is not null then
        return 'begun';
    end if;
    update accountctl.deletion_requests
    set state = 'cancelled',
        finished_at = now(),
        situation = null,
        situation_since = null,
        sealed_identifiers = null,
        sealing_key_id = null,
        reason = null
    where id = request_id;
    return 'cancelled';
end;
$$;

comment on function accountctl.cancel_deletion_request is
    'Cancels a request until its account is locked out: cancelled, begun or unknown.';

revoke all on function accountctl.setting_interval(text, interval) from public;
revoke all on function accountctl.open_deletion_request(uuid, text, text, interval) from public;
revoke all on function accountctl.cancel_deletion_request(uuid) from public;
