-- Supabase's roles with their real limits, for a plain PostgreSQL. Development and tests only.
--
-- Applied once per cluster by its superuser, which is called supabase_admin as on Supabase; repeatable. As on the hosted
-- platform, `postgres` is no superuser and owns nothing in `auth` and `storage`, so that migrations and the worker are
-- refused what they are refused there.

\set ON_ERROR_STOP on
set client_min_messages = warning;

do $$
begin
    -- Elsewhere the first superuser may well be called postgres, and what follows would take its rights away.
    if (select rolname from pg_roles where oid = 10) <> 'supabase_admin' then
        raise exception 'this cluster was not made by deploy/private-postgres: its first superuser is not supabase_admin';
    end if;
end
$$;

do $$
declare
    -- name and attributes; the attributes are set again on every run, since they are what the stand-in is for
    wanted constant text[] := array[
        ['postgres', 'login createdb createrole replication bypassrls nosuperuser'],
        ['anon', 'nologin inherit'],
        ['authenticated', 'nologin inherit'],
        ['service_role', 'nologin inherit bypassrls'],
        ['authenticator', 'login noinherit'],
        ['supabase_auth_admin', 'login noinherit'],
        ['supabase_storage_admin', 'login noinherit createrole']
    ];
    role_name text;
    attributes text;
begin
    for i in 1 .. array_length(wanted, 1) loop
        role_name := wanted[i][1];
        attributes := wanted[i][2];
        if not exists (select from pg_roles where rolname = role_name) then
            execute format('create role %I', role_name);
        end if;
        execute format('alter role %I %s', role_name, attributes);
    end loop;
end
$$;

grant anon, authenticated, service_role to authenticator;
grant anon, authenticated, service_role to postgres;
grant pg_monitor, pg_read_all_data, pg_signal_backend to postgres;
-- Storage signs in as itself and becomes the role that the request's token names.
grant authenticator to supabase_storage_admin;

do $$
begin
    -- From 16 on CREATEROLE alone no longer lets a role pass the API roles on; on the platform it holds ADMIN on them.
    if current_setting('server_version_num')::int >= 160000 then
        execute 'grant anon, authenticated, service_role to postgres with admin option';
    end if;
end
$$;

alter role postgres set search_path = "$user", public, extensions;
alter role anon set statement_timeout = '3s';
alter role authenticated set statement_timeout = '8s';
alter role authenticator set statement_timeout = '8s';
alter role authenticator set lock_timeout = '8s';
alter role supabase_auth_admin set search_path = auth;
alter role supabase_auth_admin set idle_in_transaction_session_timeout = '60s';
alter role supabase_storage_admin set search_path = storage;
