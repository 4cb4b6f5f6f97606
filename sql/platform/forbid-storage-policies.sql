-- Takes back what allow-storage-policies.sql lent. Applied by supabase_admin.

begin;
alter table storage.objects owner to supabase_storage_admin;
-- Changing the owner has made the rights that `postgres` held part of the owner's.
set local role supabase_storage_admin;
grant all on storage.objects to postgres with grant option;
commit;
