-- accountctl: bundle=core
-- Whoever sends codes uses up those of an hour: of its own session. A token that outlives its session, or of the first factor alone,
-- could send ten made-up ones an hour, and Apple was never asked about the person's own. Rows are kept few by a limit for the account,
-- which nobody reaches who does not sign in ten times within the hour.

alter table accountctl.authorization_codes
    add column sent_by bytea;

comment on column accountctl.authorization_codes.sent_by is
    'SHA-256 of the id of the session by which the app sent it. Null for a token without one.';

create or replace function accountctl.store_authorization_code(
    subject uuid,
    authorization_code text,
    client_id text default null,
    redirect_uri text default null
)
returns bigint
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    code_id bigint;
begin
    insert into accountctl.authorization_codes (user_id, code, client_id, redirect_uri, sent_by)
    values (
        subject,
        store_authorization_code.authorization_code,
        store_authorization_code.client_id,
        store_authorization_code.redirect_uri,
        accountctl.calling_session()
    )
    returning id into code_id;
    -- The highest priority: in five minutes the code is worth nothing.
    perform accountctl.enqueue_job(
        kind => 'apple.exchange_code',
        args => jsonb_build_object('code', code_id),
        queue => 'apple',
        priority => 0::smallint,
        unique_key => 'apple.exchange_code:' || code_id
    );
    return code_id;
end;
$$;

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
set search_path = pg_catalog, pg_temp
as $$
declare
    code_id bigint;
    of_session bigint;
    of_account bigint;
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
    select
        count(*) filter (where codes.sent_by is not distinct from accountctl.calling_session()),
        count(*)
    into of_session, of_account
    from accountctl.authorization_codes as codes
    where codes.user_id = subject
      and codes.received_at > now() - interval '1 hour';
    if of_session >= 10 or of_account >= 100 then
        return null;
    end if;
    return accountctl.store_authorization_code(subject, authorization_code, client_id, redirect_uri);
end;
$$;

comment on function accountctl.accept_authorization_code is
    'Checks, counts and stores a code that the app submits; null when it is one too many of the session, or of the account, within an hour.';
