-- accountctl: bundle=core
-- The private schema, its operator role, settings, the operators' log and what the row-level policies ask.

-- Five functions are the public surface (0005). One of that name that somebody else made would become an overload of ours,
-- which PostgREST answers with 300 Multiple Choices: better stopped before anything is changed.
do $$
declare
    taken text;
begin
    select string_agg(format('%I.%I(%s)', n.nspname, p.proname, pg_get_function_identity_arguments(p.oid)), ', ')
    into taken
    from pg_proc as p
    join pg_namespace as n on n.oid = p.pronamespace
    where n.nspname = 'public'
      and p.proname in (
          'request_account_deletion',
          'cancel_account_deletion',
          'account_deletion_status',
          'submit_apple_authorization_code',
          'report_apple_credential_state'
      );
    if taken is not null then
        raise exception 'functions with the names of accountctl''s own exist already: %', taken
            using errcode = 'duplicate_function',
                hint = 'Rename or drop them; nothing was changed.';
    end if;
end
$$;

-- The migration engine may have made it for its own table.
create schema if not exists accountctl;
comment on schema accountctl is 'Account lifecycle. Never add it to the schemas that the API exposes.';
revoke all on schema accountctl from public;

-- Roles belong to the cluster: another database may have made this one, or be making it this moment.
do $$
begin
    if not exists (select from pg_roles where rolname = 'accountctl_operator') then
        begin
            create role accountctl_operator nologin;
            comment on role accountctl_operator is
                'People on call: may run functions of the schema accountctl, owns and reads nothing.';
        exception
            when duplicate_object or unique_violation then null;
        end;
    end if;
end
$$;
grant usage on schema accountctl to accountctl_operator;

-- Settings -------------------------------------------------------------------------------------------------------------

create table accountctl.settings (
    name text not null constraint settings_pkey primary key
        constraint settings_name_form check (name ~ '^[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)*$' and length(name) <= 100),
    value jsonb not null,
    updated_at timestamptz not null default now()
);
comment on table accountctl.settings is 'Settings that functions in the database need; the program''s own are in its configuration.';
comment on column accountctl.settings.name is 'Dotted, lower case, e.g. deletion.grace.';
comment on column accountctl.settings.value is 'A JSON value; a duration is text that interval takes, e.g. "24 hours".';
comment on column accountctl.settings.updated_at is 'When the value was last written.';

-- What operators did ---------------------------------------------------------------------------------------------------

create table accountctl.operator_log (
    id bigint generated always as identity constraint operator_log_pkey primary key,
    logged_at timestamptz not null default clock_timestamp(),
    operator text not null
        constraint operator_log_operator_length check (length(operator) between 1 and 200),
    database_role name not null default session_user,
    machine_user text
        constraint operator_log_machine_user_length check (length(machine_user) between 1 and 200),
    action text not null
        constraint operator_log_action_form check (action ~ '^[a-z][a-z_]*(\.[a-z][a-z_]*)*$' and length(action) <= 100),
    subject_key text
        constraint operator_log_subject_key_length check (length(subject_key) between 1 and 100),
    subject_hash bytea
        constraint operator_log_subject_hash_length check (length(subject_hash) = 32),
    reason text
        constraint operator_log_reason_length check (length(reason) <= 2000),
    ticket text
        constraint operator_log_ticket_length check (length(ticket) between 1 and 200),
    facts jsonb not null default '{}'
        constraint operator_log_facts_form check (jsonb_typeof(facts) = 'object' and length(facts::text) <= 10000),
    constraint operator_log_subject_whole check ((subject_key is null) = (subject_hash is null))
);
create index operator_log_subject_hash_idx on accountctl.operator_log (subject_hash, logged_at)
    where subject_hash is not null;
create index operator_log_logged_at_idx on accountctl.operator_log (logged_at);
comment on table accountctl.operator_log is
    'What operators did, to whom, and why. Rows are added, never changed or removed. The account stands here as a keyed hash from the start, so that the log outlives an erasure.';
comment on column accountctl.operator_log.operator is 'Who acted, as the program was told; free text of the operator''s organisation.';
comment on column accountctl.operator_log.database_role is 'The role that was signed in to the database.';
comment on column accountctl.operator_log.machine_user is 'The account on the machine that the program ran on, as that machine says.';
comment on column accountctl.operator_log.action is 'What was done, e.g. deletion.request.';
comment on column accountctl.operator_log.subject_key is 'The id of the key that subject_hash was made with.';
comment on column accountctl.operator_log.subject_hash is 'HMAC-SHA256 of the user id, which no row here holds in the clear.';
comment on column accountctl.operator_log.reason is 'Why, in the operator''s words. No personal data.';
comment on column accountctl.operator_log.ticket is 'The number of the ticket that asked for it.';
comment on column accountctl.operator_log.facts is 'Ids of our own rows and counts. No personal data.';

create function accountctl.refuse_change()
returns trigger
language plpgsql
set search_path = ''
as $$
begin
    raise exception '%.% only grows: % is refused', tg_table_schema, tg_table_name, tg_op
        using errcode = 'insufficient_privilege';
end
$$;
comment on function accountctl.refuse_change() is 'Trigger of tables that only grow. Holds for their owner too, whom grants do not bind.';

create trigger operator_log_refuse_change
    before update or delete or truncate on accountctl.operator_log
    for each statement execute function accountctl.refuse_change();

create function accountctl.log_operation(
    operator text,
    action text,
    subject_key text default null,
    subject_hash bytea default null,
    reason text default null,
    facts jsonb default '{}',
    ticket text default null,
    machine_user text default null
)
returns bigint
language sql
volatile
security definer
set search_path = ''
as $$
    insert into accountctl.operator_log (
        operator, action, subject_key, subject_hash, reason, facts, ticket, machine_user
    )
    values (
        log_operation.operator,
        log_operation.action,
        log_operation.subject_key,
        log_operation.subject_hash,
        log_operation.reason,
        coalesce(log_operation.facts, '{}'),
        log_operation.ticket,
        log_operation.machine_user
    )
    returning id
$$;
comment on function accountctl.log_operation(text, text, text, bytea, text, jsonb, text, text) is
    'Adds a row to operator_log and returns its id: the only way in for accountctl_operator.';

-- What was found and left alone ----------------------------------------------------------------------------------------

create table accountctl.adoption_notes (
    item text not null constraint adoption_notes_pkey primary key,
    object text not null,
    decision text not null
        constraint adoption_notes_decision_known check (decision in ('created', 'replaced', 'kept', 'left_off')),
    reason text,
    noted_at timestamptz not null default now(),
    constraint adoption_notes_reason_given check (decision in ('created', 'replaced') or reason is not null)
);
comment on table accountctl.adoption_notes is
    'What the migrations of the profiles bundle did with each thing they met. `accountctl migrate status` shows it.';
comment on column accountctl.adoption_notes.item is 'What it is about, e.g. profiles.policy.insert; the names that `migrate plan` uses.';
comment on column accountctl.adoption_notes.object is 'The database object that was made, replaced or left.';
comment on column accountctl.adoption_notes.decision is
    'created; replaced (it was a published starter''s by its text); kept (somebody else''s, untouched); left_off (not made).';
comment on column accountctl.adoption_notes.reason is 'Why it was kept or left off.';

-- What the row-level policies ask --------------------------------------------------------------------------------------

-- An access token outlives its session by up to an hour. 0003 adds "and is not being erased".
create function accountctl.account_open()
returns boolean
language sql
stable
security definer
set search_path = ''
as $$
    select exists (
        select
        from auth.users as u
        where u.id = (select auth.uid())
          and u.deleted_at is null
          and (u.banned_until is null or u.banned_until <= now())
    )
$$;
comment on function accountctl.account_open() is
    'True when the account that the request''s token names exists and may write: not banned, not soft-deleted, not being erased.';

-- EXECUTE is PUBLIC's by default. Taking the default away would change what the app's own functions get, so each migration
-- takes it from the functions it makes; a test holds that none is forgotten.
revoke execute on all functions in schema accountctl from public;
grant execute on function accountctl.account_open() to authenticated;
grant execute on function accountctl.log_operation(text, text, text, bytea, text, jsonb, text, text) to accountctl_operator;
