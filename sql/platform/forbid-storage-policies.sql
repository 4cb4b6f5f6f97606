-- Takes back what allow-storage-policies.sql lent. Applied by supabase_admin.

begin;
-- Two runs at once on one cluster would fail with "tuple concurrently updated".
lock table pg_catalog.pg_auth_members in share row exclusive mode;
set local client_min_messages = error;
revoke supabase_storage_admin from postgres;
commit;
