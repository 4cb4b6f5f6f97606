-- accountctl: bundle=core
-- A deletion is opened by whoever is signed in as fully as the account asks for: a token outlives its session by up to an hour, a
-- suspension ends no token, and one of the first factor alone is what somebody has who only knows the password.
--
-- Errors that are new:
--   PT403  the sign-in is not enough to open a deletion; details has the word that the Auth server uses: insufficient_aal,
--          user_banned or session_not_found
--
-- A request that is open already is found all the same, its state told, and cancelling is open to all: none of it deletes more.

create function accountctl.require_full_sign_in(caller uuid)
returns void
language plpgsql
stable
security definer
set search_path = ''
as $$
declare
    claims jsonb := (select auth.jwt());
    session text := nullif(claims ->> 'session_id', '');
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
    if claims ->> 'aal' is distinct from 'aal2' and exists (
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

comment on function accountctl.require_full_sign_in is
    'Refuses an access token that is not enough to open a deletion, with an error for the app.';

revoke all on function accountctl.require_full_sign_in(uuid) from public, anon, authenticated, service_role;

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
            'status_token', accountctl.new_status_token(request),
            'code_accepted', code_accepted
        );
end;
$$;
