-- accountctl: bundle=core
-- The auth server sets the time at which an account was created, by its own clock, and the database's clock may have been set back.
-- An account that seemed younger than its own deletion request was taken for another one under the same id, for ever. The request
-- now keeps that time, by which its account is told from another.

alter table accountctl.deletion_requests
    add column account_created_at timestamptz;

comment on column accountctl.deletion_requests.account_created_at is
    'When the account was created, by its own row, if that was later than the request; forgotten with the user id.';

-- An earlier release, whose worker may end a request during an upgrade, does not forget it: the upkeep looks for that each minute.
create index deletion_requests_created_at_idx
    on accountctl.deletion_requests (id)
    where user_id is null and account_created_at is not null;

create or replace function accountctl.open_deletion_request(
    subject uuid,
    origin text,
    reason text default null,
    grace interval default null
)
returns table (request_id uuid, opened boolean)
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    waits interval := greatest(coalesce(grace, accountctl.setting_interval('deletion.grace', '24 hours')), '0');
    deadline timestamptz := now() + interval '1 month';
    -- A month may have 28 days, and grace 30: some days stay for the run itself.
    starts timestamptz := least(now() + waits, deadline - interval '3 days');
begin
    -- The loop is for a request that is found open and cancelled before it can be read: the next round opens a new one.
    loop
        insert into accountctl.deletion_requests (
            user_id, origin, reason, state, run_after, legal_deadline, account_created_at
        )
        values (
            subject,
            open_deletion_request.origin,
            nullif(btrim(open_deletion_request.reason), ''),
            case when waits > '0' then 'grace' else 'requested' end,
            starts,
            deadline,
            (
                select users.created_at
                from auth.users
                where users.id = open_deletion_request.subject
                  and users.created_at > now()
            )
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
            run_at => starts,
            unique_key => 'account.delete:' || request_id
        );
    end if;
    return next;
end;
$$;
