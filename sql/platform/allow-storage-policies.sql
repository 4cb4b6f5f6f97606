-- On the hosted platform an extension lets `postgres` create policies on storage.objects although it does not own it.
-- A plain server knows ownership only, so the stand-in lends it the owner's membership while `migrate` runs.
-- Take it back before anything else runs: with it `postgres` could drop the delete protection. Applied by supabase_admin.

begin;
-- Two runs at once on one cluster would fail with "tuple concurrently updated".
lock table pg_catalog.pg_auth_members in share row exclusive mode;
grant supabase_storage_admin to postgres;
commit;
