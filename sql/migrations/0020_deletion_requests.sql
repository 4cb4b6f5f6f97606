-- accountctl: bundle=core
-- Deletion requests that cannot be refused for a surplus code, nor be made without bound, nor wait beyond their deadline.
--
-- Errors that change:
--   PT410  also of an account that is deleted while its code is on its way in
--   PT429  also of more than ten requests that were opened by the app, and cancelled, within a day

create or replace function accountctl.accept_authorization_code(
    subject uuid,
    authorization_code text,
    client_id text,
    redirect_uri text
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
    if octet_length(authorization_code) not between 1 and 2048 then
        raise exception 'authorization_code must have 1 to 2048 bytes' using errcode = '22023';
    end if;
    if client_id !~ '^[A-Za-z0-9][A-Za-z0-9._-]{0,254}$' then
        raise exception 'client_id must be a bundle id or Services ID' using errcode = '22023';
    end if;
    if octet_length(redirect_uri) not between 1 and 2048 then
        raise exception 'redirect_uri must have 1 to 2048 bytes' using errcode = '22023';
    end if;
    -- Two calls with one code at once would both store it: the account's row lets one pass at a time. An erasure that looks, under
    -- the same lock, for what is to be revoked finds the code, or the account is gone here.
    perform from auth.users where users.id = subject for no key update;
    if not found then
        raise exception 'the account does not exist' using errcode = 'PT410',
            hint = 'Sign out on the device.';
    end if;
    select codes.id
    into code_id
    from accountctl.authorization_codes as codes
    where codes.user_id = subject
      and codes.code = accept_authorization_code.authorization_code;
    if code_id is not null then
        return code_id;
    end if;
    if (
        select count(*)
        from accountctl.authorization_codes as codes
        where codes.user_id = subject
          and codes.received_at > now() - interval '1 hour'
    ) >= 10 then
        return null;
    end if;
    return accountctl.store_authorization_code(subject, authorization_code, client_id, redirect_uri);
end;
$$;

comment on function accountctl.accept_authorization_code is
    'Checks, counts and stores a code that the app submits; null when it is one too many within an hour.';

create or replace function accountctl.submit_apple_authorization_code(
    authorization_code text,
    client_id text,
    redirect_uri text
)
returns jsonb
language plpgsql
volatile
security definer
set search_path = ''
as $$
declare
    caller uuid := accountctl.calling_account();
begin
    if authorization_code is null then
        raise exception 'authorization_code is missing' using errcode = '22023';
    end if;
    if accountctl.accept_authorization_code(caller, authorization_code, client_id, redirect_uri) is null then
        raise exception 'too many authorization codes' using errcode = 'PT429',
            hint = 'Try again in an hour.';
    end if;
    return jsonb_build_object('accepted', true);
end;
$$;

create or replace function accountctl.request_account_deletion(
    authorization_code text,
    client_id text,
    redirect_uri text,
    reason text
)
returns jsonb
language plpgsql
volatile
security definer
set search_path = ''
as $$
declare
    caller uuid := accountctl.calling_account();
    request uuid;
    code_accepted boolean;
begin
    if char_length(reason) > 1000 then
        raise exception 'reason must have at most 1000 characters' using errcode = '22023';
    end if;
    if authorization_code is not null then
        -- Nobody is kept from deleting the account by a code too many: the request goes on without it.
        code_accepted := accountctl.accept_authorization_code(caller, authorization_code, client_id, redirect_uri) is not null;
    end if;
    -- Each leaves a row. Asking again for one that is open costs nothing and is never refused.
    if not exists (
        select
        from accountctl.deletion_requests
        where deletion_requests.user_id = caller
          and deletion_requests.finished_at is null
    )
    and (
        select count(*)
        from accountctl.deletion_requests
        where deletion_requests.user_id = caller
          and deletion_requests.origin = 'app'
          and deletion_requests.finished_at is not null
          and deletion_requests.requested_at > now() - interval '1 day'
    ) >= 10 then
        raise exception 'too many deletion requests were made and cancelled' using errcode = 'PT429',
            hint = 'Try again tomorrow.';
    end if;
    select opened.request_id
    into strict request
    from accountctl.open_deletion_request(caller, 'app', request_account_deletion.reason) as opened;
    return accountctl.deletion_status_document(request)
        || jsonb_build_object(
            'status_token', accountctl.new_status_token(request),
            'code_accepted', code_accepted
        );
end;
$$;

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
set search_path = ''
as $$
declare
    waits interval := greatest(coalesce(grace, accountctl.setting_interval('deletion.grace', '24 hours')), '0');
    deadline timestamptz := now() + interval '1 month';
    -- A month may have 28 days, and grace 30: some days stay for the run itself.
    starts timestamptz := least(now() + waits, deadline - interval '3 days');
begin
    -- The loop is for a request that is found open and cancelled before it can be read: the next round opens a new one.
    loop
        insert into accountctl.deletion_requests (user_id, origin, reason, state, run_after, legal_deadline)
        values (
            subject,
            open_deletion_request.origin,
            nullif(btrim(open_deletion_request.reason), ''),
            case when waits > '0' then 'grace' else 'requested' end,
            starts,
            deadline
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

create or replace function accountctl.cancel_deletion_request(request_id uuid)
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
    -- Its job would lie among the live ones until grace ends: it runs now, finds the request ended, and ends too.
    update accountctl.jobs
    set run_at = clock_timestamp(),
        state = 'available'
    where unique_key = 'account.delete:' || request_id
      and state = 'scheduled';
    if found then
        perform pg_notify('accountctl_jobs', 'deletions');
    end if;
    return 'cancelled';
end;
$$;
