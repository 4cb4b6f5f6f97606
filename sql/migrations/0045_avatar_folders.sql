-- accountctl: bundle=profiles
-- Nobody puts files into the folder of another account: the search after an erasure finds its id in their names, and whoever wrote
-- them could keep it from ending. Folders of teams and others that are named by no account are the app's affair.
-- Hot table: storage.objects.

create function accountctl.folder_open(object_name text)
returns boolean
language plpgsql
stable
security definer
set search_path = ''
as $$
declare
    folder text := lower(split_part(object_name, '/', 1));
    account uuid;
begin
    if folder !~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' then
        return true;
    end if;
    account := folder;
    return account is not distinct from auth.uid()
        or not exists (select from auth.users where users.id = account)
        -- Gone already, and not yet searched for the last time.
        and not exists (
            select
            from accountctl.deletion_requests
            where deletion_requests.user_id = account
              and deletion_requests.finished_at is null
        );
end;
$$;

comment on function accountctl.folder_open is
    'Whether the caller may write an object of this name: not into the folder of another account, nor of one that is being erased.';

revoke all on function accountctl.folder_open(text) from public, anon, authenticated, service_role;
grant execute on function accountctl.folder_open(text) to authenticated;

do $$
declare
    verb record;
begin
    for verb in
        select * from (values ('insert', 'avatars_insert_folder'), ('update', 'avatars_update_folder')) as wanted (name, policy)
    loop
        execute format(
            'create policy %I on storage.objects as restrictive for %s to authenticated '
            'with check (bucket_id is distinct from ''avatars'' or accountctl.folder_open(name))',
            verb.policy, verb.name
        );
        insert into accountctl.adoption_notes (item, object, decision)
        values ('avatars.folder.' || verb.name, format('policy %I on storage.objects', verb.policy), 'created');
    end loop;
exception
    when insufficient_privilege then
        raise exception 'this role may not create policies on storage.objects: %', sqlerrm
            using errcode = 'insufficient_privilege',
                hint = 'Migrate as the role postgres of the platform; on a plain server lend it the ownership meanwhile.';
end
$$;
