-- Supabase's `auth` and `storage` schemas as far as account deletion and look-up touch them, in one database.
-- Development and tests only. Applied once by supabase_admin with psql, after roles.sql; the database belongs to postgres.
--
-- Names, types, keys, delete rules, indexes, row-level security and grants are the platform's (state of November 2026: Auth
-- 2.197, Storage 1.98). Tables that do not concern accounts are left out.

\set ON_ERROR_STOP on
set client_min_messages = warning;

create schema extensions authorization postgres;
create extension pgcrypto schema extensions;
create extension "uuid-ossp" schema extensions;
grant usage on schema extensions to anon, authenticated, service_role;

-- As in projects from before 2026: a new object in `public` is open to the API's roles unless its migration revokes that.
-- Newer projects are stricter; the tests run against the less safe state.
grant usage on schema public to anon, authenticated, service_role;
alter default privileges for role postgres in schema public grant all on tables to anon, authenticated, service_role;
alter default privileges for role postgres in schema public grant all on functions to anon, authenticated, service_role;
alter default privileges for role postgres in schema public grant all on sequences to anon, authenticated, service_role;

do $$
begin
    execute format('alter database %I set statement_timeout = %L', current_database(), '2min');
end
$$;

\ir auth.sql
\ir storage.sql
