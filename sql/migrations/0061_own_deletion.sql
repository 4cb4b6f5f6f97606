-- accountctl: bundle=core
-- What a full sign-in was given, a lesser one of the same account does not take away: where there is a second factor, cancelling asks
-- for it as opening does; a status token is given to a full sign-in alone, and of one request the oldest stay besides the newest.
--
-- Errors that are new:
--   PT403  insufficient_aal from cancel_account_deletion, too
--
-- An ended session and a suspension keep nobody from cancelling: the device that asked may be signed out.

create function accountctl.require_second_factor(caller uuid)
returns void
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
as $$
begin
    if (select auth.jwt()) ->> 'aal' is distinct from 'aal2' and exists (
        select
        from auth.mfa_factors
        where mfa_factors.user_id = caller
          and mfa_factors.status = 'verified'
    ) then
        raise exception 'the account has a second factor, which this sign-in did not use' using errcode = 'PT403',
            detail = 'insufficient_aal',
            hint = 'Verify the second factor, then ask again.';
    end if;
end;
$$;

comment on function accountctl.require_second_factor is
    'Refuses an access token of the first factor alone where the account has a second, with an error for the app.';

create or replace function accountctl.require_full_sign_in(caller uuid)
returns void
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    session text := nullif((select auth.jwt()) ->> 'session_id', '');
begin
    if exists (select from auth.users where users.id = caller and users.banned_until > now()) then
        raise exception 'the account is suspended' using errcode = 'PT403',
            detail = 'user_banned',
            hint = 'Ask the operator of the app.';
    end if;
    -- By the token's own words: those that other issuers sign have no session.
    if session is not null and not exists (
        select
        from auth.sessions
        where sessions.user_id = caller
          and sessions.id::text = lower(session)
    ) then
        raise exception 'the session of the access token has ended' using errcode = 'PT403',
            detail = 'session_not_found',
            hint = 'Sign in again.';
    end if;
    perform accountctl.require_second_factor(caller);
end;
$$;

create function accountctl.is_full_sign_in(caller uuid)
returns boolean
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
as $$
begin
    perform accountctl.require_full_sign_in(caller);
    return true;
exception
    when sqlstate 'PT403' then return false;
end;
$$;

comment on function accountctl.is_full_sign_in is 'Whether an access token is enough to open a deletion.';

revoke all on function accountctl.require_second_factor(uuid) from public, anon, authenticated, service_role;
revoke all on function accountctl.is_full_sign_in(uuid) from public, anon, authenticated, service_role;

create or replace function accountctl.new_status_token(request_id uuid)
returns text
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    -- 244 random bits from the generator that Postgres uses for secrets.
    token text := encode(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()), 'hex');
begin
    insert into accountctl.deletion_status_tokens (token_hash, request_id)
    values (sha256(convert_to(token, 'UTF8')), new_status_token.request_id);
    -- A device that asks again and again keeps its last ones, and takes none from those that asked first.
    delete from accountctl.deletion_status_tokens as surplus
    where surplus.request_id = new_status_token.request_id
      and surplus.token_hash in (
          select ranked.token_hash
          from (
              select
                  tokens.token_hash,
                  row_number() over (order by tokens.created_at, tokens.token_hash) as oldest,
                  row_number() over (order by tokens.created_at desc, tokens.token_hash desc) as newest
              from accountctl.deletion_status_tokens as tokens
              where tokens.request_id = new_status_token.request_id
          ) as ranked
          where ranked.oldest > 10
            and ranked.newest > 10
      );
    return token;
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
set search_path = pg_catalog, pg_temp
as $$
declare
    caller uuid := accountctl.calling_account();
    request uuid;
    code_accepted boolean;
begin
    if char_length(reason) > 1000 then
        raise exception 'reason must have at most 1000 characters' using errcode = '22023';
    end if;
    -- Asking again for one that is open costs nothing and is never refused.
    if not exists (
        select
        from accountctl.deletion_requests
        where deletion_requests.user_id = caller
          and deletion_requests.finished_at is null
    ) then
        perform accountctl.require_full_sign_in(caller);
        -- Each leaves a row.
        if (
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
    end if;
    if authorization_code is not null then
        -- Nobody is kept from deleting the account by a code too many: the request goes on without it.
        code_accepted := accountctl.accept_authorization_code(caller, authorization_code, client_id, redirect_uri) is not null;
    end if;
    select opened.request_id
    into strict request
    from accountctl.open_deletion_request(caller, 'app', request_account_deletion.reason) as opened;
    return accountctl.deletion_status_document(request)
        || jsonb_build_object(
            'status_token', case when accountctl.is_full_sign_in(caller) then accountctl.new_status_token(request) end,
            'code_accepted', code_accepted
        );
end;
$$;

create or replace function accountctl.cancel_account_deletion()
returns jsonb
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    caller uuid := accountctl.calling_account();
    request uuid;
    is_open boolean;
    outcome text;
begin
    select deletion_requests.id, deletion_requests.finished_at is null and deletion_requests.locked_out_at is null
    into request, is_open
    from accountctl.deletion_requests
    where deletion_requests.user_id = caller
    order by (deletion_requests.finished_at is null) desc, deletion_requests.requested_at desc
    limit 1;
    if request is null then
        raise exception 'there is no deletion request' using errcode = 'PT404';
    end if;
    if is_open then
        perform accountctl.require_second_factor(caller);
    end if;
    outcome := accountctl.cancel_deletion_request(request);
    if outcome = 'begun' then
        raise exception 'the deletion has begun' using errcode = 'PT409',
            hint = 'It can no longer be cancelled.';
    end if;
    return accountctl.deletion_status_document(request);
end;
$$;
