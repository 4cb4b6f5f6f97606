-- accountctl: bundle=core
-- What accountctl does is decided by the operators' log here and there: a replay of erasures leaves alone what somebody decided since.
-- A program beside it could log such acts as an operator's. What it logs stands under app. from now on, by its login: whoever may act
-- as the owner of the log is an operator or the worker.
--
-- What such programs logged before stays as it is.

create or replace function accountctl.log_operation(
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
set search_path = pg_catalog, pg_temp
as $$
    insert into accountctl.operator_log (
        operator, action, subject_key, subject_hash, reason, facts, ticket, machine_user
    )
    values (
        log_operation.operator,
        -- Here current_user is the owner, whatever role the session took on.
        case
            when pg_has_role(session_user, current_user, 'member') or starts_with(log_operation.action, 'app.')
                then log_operation.action
            else 'app.' || log_operation.action
        end,
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
    'Adds a row to operator_log and returns its id: the only way in for accountctl_operator, whose actions stand under app.';

comment on column accountctl.operator_log.action is
    'What was done, e.g. deletion.request. What begins with app. was logged by a program beside accountctl.';
