-- On the hosted platform an extension lets `postgres` create policies on storage.objects although it does not own it.
-- A plain server knows ownership only, so the stand-in lends it the table while `migrate` runs: in this database alone, so
-- that others on the same cluster are not lent anything. Take it back before anything else runs: with it `postgres` could drop
-- the delete protection. Applied by supabase_admin.

alter table storage.objects owner to postgres;
