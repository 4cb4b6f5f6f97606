-- On the hosted platform an extension lets `postgres` create policies on storage.objects although it does not own it.
-- A plain server decides by ownership alone, so the stand-in makes `postgres` the owner of the table while `migrate` runs,
-- in this database only. Take that back before anything else runs: an owner could drop the delete protection. Applied by
-- supabase_admin.

alter table storage.objects owner to postgres;
