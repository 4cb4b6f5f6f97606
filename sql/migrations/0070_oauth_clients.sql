-- accountctl: bundle=core
-- Where Supabase is an OAuth server, the tokens of its clients are those of a person who let them in, and no scope keeps them from the
-- functions of the app: a deletion is opened and cancelled, a credential at Apple handed over and spoken of, by the app itself alone.
--
-- Errors that are new:
--   PT403  oauth_client from all functions but account_deletion_status

create or replace function accountctl.calling_account()
returns uuid
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    caller uuid := (select auth.uid());
    claims jsonb := (select auth.jwt());
    session jsonb;
    of_client boolean;
begin
    if caller is null then
        raise exception 'the access token names no account' using errcode = 'PT401';
    end if;
    if not exists (select from auth.users where users.id = caller) then
        raise exception 'the account does not exist' using errcode = 'PT410',
            hint = 'Sign out on the device.';
    end if;
    select to_jsonb(sessions)
    into session
    from auth.sessions
    where sessions.user_id = caller
      and sessions.id::text = lower(claims ->> 'session_id');
    -- Auth servers of old know no clients.
    of_client := session ->> 'oauth_client_id' is not null;
    -- A client can end its session, and its token outlives that. An app may have claims of its own by that name.
    if session is null and claims ->> 'client_id' <> '' and to_regclass('auth.oauth_clients') is not null then
        of_client := exists (select from auth.oauth_clients where oauth_clients.id::text = lower(claims ->> 'client_id'));
    end if;
    if of_client then
        raise exception 'the access token is that of an OAuth client' using errcode = 'PT403',
            detail = 'oauth_client',
            hint = 'Only the app itself may ask for this.';
    end if;
    return caller;
end;
$$;

comment on function accountctl.calling_account is
    'The account of the caller, or an error for the app; an OAuth client whom the person let in is not the app.';
