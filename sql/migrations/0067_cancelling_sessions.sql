-- accountctl: bundle=core
-- Whoever cancels uses up the requests of a day: of its own session. A token that outlives its session, or was stolen, may still cancel
-- within its hour, and so could keep the person from asking for the deletion until the next day. Rows are kept few by a limit for the
-- account, which nobody reaches who does not ask a hundred times.
--
-- PT429 of request_account_deletion: a new sign-in may ask again, but where the account's own limit is reached.

alter table accountctl.deletion_requests
    add column cancelled_by bytea;

comment on column accountctl.deletion_requests.cancelled_by is
    'SHA-256 of the id of the session by which the app cancelled it. Null for a token without one, and for operators.';

create function accountctl.calling_session()
returns bytea
language sql
stable
security definer
set search_path = pg_catalog, pg_temp
as $$
    select sha256(convert_to(lower(nullif((select auth.jwt()) ->> 'session_id', '')), 'UTF8'));
$$;

comment on function accountctl.calling_session is 'SHA-256 of the id of the caller''s session; null for a token without one.';

create function accountctl.require_requests_left(caller uuid)
returns void
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    of_session bigint;
    of_account bigint;
begin
    select
        count(*) filter (where deletion_requests.cancelled_by is not distinct from accountctl.calling_session()),
        count(*)
    into of_session, of_account
    from accountctl.deletion_requests
    where deletion_requests.user_id = caller
      and deletion_requests.origin = 'app'
      and deletion_requests.finished_at is not null
      and deletion_requests.requested_at > now() - interval '1 day';
    if of_account >= 100 then
        raise exception 'too many deletion requests were made and cancelled' using errcode = 'PT429',
            hint = 'Try again tomorrow.';
    end if;
    if of_session >= 10 then
        raise exception 'too many deletion requests were made and cancelled' using errcode = 'PT429',
            hint = 'Sign in again, or try again tomorrow.';
    end if;
end;
$$;

comment on function accountctl.require_requests_left is
    'Refuses a session that has cancelled too many requests within a day, and an account with very many, with an error for the app.';

revoke all on function accountctl.calling_session() from public, anon, authenticated, service_role;
revoke all on function accountctl.require_requests_left(uuid) from public, anon, authenticated, service_role;

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
        perform accountctl.require_requests_left(caller);
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
    if is_open then
        -- Not that of another, which was faster.
        update accountctl.deletion_requests
        set cancelled_by = accountctl.calling_session()
        where deletion_requests.id = request
          and deletion_requests.cancelled_by is null;
    end if;
    return accountctl.deletion_status_document(request);
end;
$$;
