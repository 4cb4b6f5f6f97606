-- accountctl: bundle=profiles
-- accountctl: replaces=a0e606fd2cf6e2af0a65dc67811cc2044eec5990211f80f0f2d604659cf95ba9
-- accountctl: replaces=b005f29edc8e0f72e3f75a8249d70b0c45f00e0df49b99c0bc40d5e47d07a385
-- Validates what 0012 and 0013 added NOT VALID. Reads the whole table while writers go on.
-- Hot table: public.profiles.

do $$
declare
    added record;
begin
    for added in
        select k.conname as name, n.item
        from accountctl.adoption_notes as n
        join pg_constraint as k
            on k.conrelid = 'public.profiles'::regclass
            and not k.convalidated
            and (
                (n.item = 'profiles.username_length' and k.conname = 'username_length')
                or (n.item = 'profiles.user_key' and n.object = format('constraint %I on public.profiles', k.conname))
            )
        where n.decision in ('created', 'replaced')
    loop
        begin
            execute format('alter table public.profiles validate constraint %I', added.name);
        exception
            when check_violation then
                -- A short name came in between counting and adding the rule.
                execute format('alter table public.profiles drop constraint %I', added.name);
                update accountctl.adoption_notes
                set decision = 'left_off', reason = 'usernames are shorter than three characters', noted_at = now()
                where item = added.item;
            when foreign_key_violation then
                -- Profiles without an account: usual after a restore of data alone. Left as it is the key still holds for
                -- every row that is written, and still cascades.
                update accountctl.adoption_notes
                set reason = 'not validated: there are profiles without an account', noted_at = now()
                where item = added.item;
        end;
    end loop;
end
$$;
