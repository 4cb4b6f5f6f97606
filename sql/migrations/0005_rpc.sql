-- accountctl: bundle=core
-- The five functions that the app calls. In `public` stand INVOKER functions with SQL-standard bodies, which need no USAGE
-- on the private schema; they call DEFINER functions that take no user id but read auth.uid(). The signatures are frozen:
-- PostgREST cannot tell overloads apart, so there is one of each, with all arguments optional (0001 refuses a database that
-- has functions of these names).
--
-- Errors, besides 42501 (401 / 403) of a caller without the right to execute:
--   22023  400  an argument is missing or out of form; the message names it
--   PT401  401  the token names no account
--   PT404  404  no deletion request (or none for this status token)
--   PT409  409  too late to cancel: the run has begun
--   PT410  410  the account does not exist (any more)
--   PT429  429  too many authorization codes within an hour

-- The account of the caller. auth.uid() alone is not proof: a token outlives its account by up to an hour.
create function accountctl.calling_account()
returns uuid
language plpgsql
stable
security definer
set search_path = ''
as $$
declare
    caller uuid := (select auth.uid());
begin
    if caller is null then
        raise exception 'the access token names no account' using errcode = 'PT401';
    end if;
    if not exists (select from auth.users where users.id = caller) then
        raise exception 'the account does not exist' using errcode = 'PT410',
            hint = 'Sign out on the device.';
    end if;
    return caller;
end;
$$;

comment on function accountctl.calling_account is 'The account of the caller, or an error for the app.';

create function accountctl.new_status_token(request_id uuid)
returns text
language plpgsql
volatile
security definer
set search_path = ''
as $$
declare
    -- 244 random bits from the generator that Postgres uses for secrets.
    token text := encode(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()), 'hex');
begin
    insert into accountctl.deletion_status_tokens (token_hash, request_id)
    values (sha256(convert_to(token, 'UTF8')), new_status_token.request_id);
    -- A device that asks again and again keeps its last ones.
    delete from accountctl.deletion_status_tokens as old
    where old.request_id = new_status_token.request_id
      and old.token_hash in (
          select kept.token_hash
          from accountctl.deletion_status_tokens as kept
          where kept.request_id = new_status_token.request_id
          order by kept.created_at desc, kept.token_hash
          offset 20
      );
    return token;
end;
$$;

comment on function accountctl.new_status_token is 'A new opaque token for a request; only its hash is stored.';

-- What the app may know about a request: no personal data, nothing about tables.
create function accountctl.deletion_status_document(request_id uuid)
returns jsonb
language sql
stable
security definer
set search_path = ''
begin atomic
    select jsonb_build_object(
        'request_id', request.id,
        'state', request.state,
        'steps_done', coalesce(
            (
                select jsonb_agg(steps.step order by steps.finished_at, steps.step)
                from accountctl.deletion_steps as steps
                where steps.request_id = request.id
                  and steps.finished_at is not null
            ),
            '[]'
        ),
        'requested_at', request.requested_at,
        'runs_after', request.run_after,
        'done_by', request.legal_deadline,
        'finished_at', request.finished_at,
        'can_cancel', request.finished_at is null and request.locked_out_at is null,
        'apple', case
            when request.apple_outcome = 'grant_unknown' then 'not_revoked'
            when request.apple_outcome is not null then request.apple_outcome
            when request.state = 'cancelled' then 'not_revoked'
            when not identity.apple then 'not_held'
            else 'pending'
        end,
        'wants_apple_code', request.finished_at is null
            and request.locked_out_at is null
            and identity.apple
            and not exists (
                select
                from accountctl.apple_credentials as credentials
                where credentials.user_id = request.user_id
            )
            and not exists (
                select
                from accountctl.authorization_codes as codes
                where codes.user_id = request.user_id
                  and codes.code is not null
                  and codes.expires_at > now()
            ),
        'worker_seen', exists (
            select
            from accountctl.workers
            where workers.beat_at > now() - interval '5 minutes'
        )
    )
    from accountctl.deletion_requests as request
    cross join lateral (
        select exists (
            select
            from auth.identities
            where identities.user_id = request.user_id
              and identities.provider = 'apple'
        ) as apple
    ) as identity
    where request.id = deletion_status_document.request_id;
end;

comment on function accountctl.deletion_status_document is 'The state of a request as the app may see it.';

-- Stores the code of an account, once: the app repeats a call whose answer was lost.
create function accountctl.accept_authorization_code(
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
    -- Two calls with one code at once would both store it: the account's row lets one pass at a time.
    perform from auth.users where users.id = subject for no key update;
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
        raise exception 'too many authorization codes' using errcode = 'PT429',
            hint = 'Try again in an hour.';
    end if;
    return accountctl.store_authorization_code(subject, authorization_code, client_id, redirect_uri);
end;
$$;

comment on function accountctl.accept_authorization_code is 'Checks, counts and stores a code that the app submits.';

create function accountctl.request_account_deletion(
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
begin
    if char_length(reason) > 1000 then
        raise exception 'reason must have at most 1000 characters' using errcode = '22023';
    end if;
    if authorization_code is not null then
        perform accountctl.accept_authorization_code(caller, authorization_code, client_id, redirect_uri);
    end if;
    select opened.request_id
    into strict request
    from accountctl.open_deletion_request(caller, 'app', request_account_deletion.reason) as opened;
    return accountctl.deletion_status_document(request)
        || jsonb_build_object('status_token', accountctl.new_status_token(request));
end;
$$;

create function accountctl.cancel_account_deletion()
returns jsonb
language plpgsql
volatile
security definer
set search_path = ''
as $$
declare
    caller uuid := accountctl.calling_account();
    request uuid;
    outcome text;
begin
    select deletion_requests.id
    into request
    from accountctl.deletion_requests
    where deletion_requests.user_id = caller
    order by (deletion_requests.finished_at is null) desc, deletion_requests.requested_at desc
    limit 1;
    if request is null then
        raise exception 'there is no deletion request' using errcode = 'PT404';
    end if;
    outcome := accountctl.cancel_deletion_request(request);
    if outcome = 'begun' then
        raise exception 'the deletion has begun' using errcode = 'PT409',
            hint = 'It can no longer be cancelled.';
    end if;
    return accountctl.deletion_status_document(request);
end;
$$;

create function accountctl.account_deletion_status(status_token text)
returns jsonb
language plpgsql
stable
security definer
set search_path = ''
as $$
declare
    caller uuid := (select auth.uid());
    request uuid;
begin
    if status_token is not null then
        select tokens.request_id
        into request
        from accountctl.deletion_status_tokens as tokens
        where tokens.token_hash = sha256(convert_to(status_token, 'UTF8'));
    elsif caller is not null then
        select deletion_requests.id
        into request
        from accountctl.deletion_requests
        where deletion_requests.user_id = caller
        order by (deletion_requests.finished_at is null) desc, deletion_requests.requested_at desc
        limit 1;
    else
        raise exception 'status_token is missing' using errcode = '22023';
    end if;
    if request is null then
        raise exception 'there is no deletion request' using errcode = 'PT404';
    end if;
    return accountctl.deletion_status_document(request);
end;
$$;

create function accountctl.submit_apple_authorization_code(
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
    perform accountctl.accept_authorization_code(caller, authorization_code, client_id, redirect_uri);
    return jsonb_build_object('accepted', true);
end;
$$;

create function accountctl.report_apple_credential_state(state text, client_id text)
returns jsonb
language plpgsql
volatile
security definer
set search_path = ''
as $$
declare
    caller uuid := accountctl.calling_account();
    told text := case state
        when 'authorized' then 'state_authorized'
        when 'revoked' then 'state_revoked'
        when 'notFound' then 'state_not_found'
        when 'transferred' then 'state_transferred'
    end;
begin
    if told is null then
        raise exception 'state must be authorized, revoked, notFound or transferred' using errcode = '22023';
    end if;
    if client_id !~ '^[A-Za-z0-9][A-Za-z0-9._-]{0,254}$' then
        raise exception 'client_id must be a bundle id or Services ID' using errcode = '22023';
    end if;
    -- The app tells it at each launch: a state is news when it differs from the last one, and once a day.
    insert into accountctl.credential_events (source, kind, client_id, user_id)
    select 'device', told, report_apple_credential_state.client_id, caller
    where told is distinct from (
        select events.kind
        from accountctl.credential_events as events
        where events.user_id = caller
          and events.source = 'device'
          and events.client_id is not distinct from report_apple_credential_state.client_id
          and events.received_at > now() - interval '1 day'
        order by events.received_at desc, events.id desc
        limit 1
    )
    and 50 > (
        select count(*)
        from accountctl.credential_events as events
        where events.user_id = caller
          and events.received_at > now() - interval '1 day'
    );
    return jsonb_build_object('accepted', true);
end;
$$;

create function public.request_account_deletion(
    authorization_code text default null,
    client_id text default null,
    redirect_uri text default null,
    reason text default null
)
returns jsonb
language sql
volatile
security invoker
set search_path = ''
begin atomic
    select accountctl.request_account_deletion(authorization_code, client_id, redirect_uri, reason);
end;

comment on function public.request_account_deletion is
    'Asks for the deletion of the caller''s account; asked again, it finds the open request. Returns its state and a status token.';

create function public.cancel_account_deletion()
returns jsonb
language sql
volatile
security invoker
set search_path = ''
begin atomic
    select accountctl.cancel_account_deletion();
end;

comment on function public.cancel_account_deletion is
    'Cancels the deletion of the caller''s account until its run begins (409 afterwards).';

create function public.account_deletion_status(status_token text default null)
returns jsonb
language sql
stable
security invoker
set search_path = ''
begin atomic
    select accountctl.account_deletion_status(status_token);
end;

comment on function public.account_deletion_status is
    'The state of a deletion, by its status token (signed in or not) or of the caller''s account.';

create function public.submit_apple_authorization_code(
    authorization_code text default null,
    client_id text default null,
    redirect_uri text default null
)
returns jsonb
language sql
volatile
security invoker
set search_path = ''
begin atomic
    select accountctl.submit_apple_authorization_code(authorization_code, client_id, redirect_uri);
end;

comment on function public.submit_apple_authorization_code is
    'Takes the authorization code of a sign-in with Apple, so that the credential can be revoked with the account.';

create function public.report_apple_credential_state(
    state text default null,
    client_id text default null
)
returns jsonb
language sql
volatile
security invoker
set search_path = ''
begin atomic
    select accountctl.report_apple_credential_state(state, client_id);
end;

comment on function public.report_apple_credential_state is
    'Takes the credential state the device sees: authorized, revoked, notFound or transferred.';

-- Default privileges give new functions to PUBLIC, and on Supabase those in `public` to the API roles by name.
do $$
declare
    function regprocedure;
begin
    for function in
        select p.oid::regprocedure
        from pg_catalog.pg_proc as p
        where p.pronamespace in ('public'::regnamespace, 'accountctl'::regnamespace)
          and p.proname in (
              'calling_account', 'new_status_token', 'deletion_status_document', 'accept_authorization_code',
              'request_account_deletion', 'cancel_account_deletion', 'account_deletion_status',
              'submit_apple_authorization_code', 'report_apple_credential_state'
          )
    loop
        execute format('revoke all on function %s from public, anon, authenticated, service_role', function);
        continue when function::text ~ '(calling_account|new_status_token|status_document|accept_authorization_code)\(';
        execute format('grant execute on function %s to authenticated', function);
        if function::text ~ 'account_deletion_status\(' then
            execute format('grant execute on function %s to anon', function);
        end if;
    end loop;
end;
$$;

-- PostgREST learns of the new functions when this commits.
notify pgrst, 'reload schema';
