-- accountctl: bundle=profiles
-- accountctl: replaces=f3dad8c8c79d3b191f4bf856352a6fdc3fc7cfcb867450084672c9d1d8e22743
-- The rules on usernames of an adopted table stay as they are. One that the app has dropped is not added again, whatever rows are
-- there: what writes the next ones, at sign-up first of all, may rest on its absence.

insert into accountctl.adoption_notes (item, object, decision, reason)
select
    'profiles.username_' || rule.name,
    'constraint on public.profiles',
    case
        when origin.value = 'created' then 'created'
        when origin.value = 'starter' and rule.is_there then 'kept'
        else 'left_off'
    end,
    case
        when origin.value = 'created' then null
        when origin.value <> 'starter' then 'a table of the app''s own'
        when rule.is_there then rule.kept
        else 'the starter''s rule is not there, and what writes usernames may rest on that'
    end
from (
    values
        (
            'unique',
            'usernames are unique already',
            exists (
                select
                from pg_index as i
                join pg_attribute as a on a.attrelid = i.indrelid and a.attname = 'username'
                where i.indrelid = 'public.profiles'::regclass
                  and i.indisunique
                  and i.indisvalid
                  and i.indpred is null
                  and i.indnkeyatts = 1
                  and i.indkey[0] = a.attnum
            )
        ),
        (
            'length',
            'usernames have a rule already',
            exists (
                select
                from pg_constraint as k
                join pg_attribute as a on a.attrelid = k.conrelid and a.attname = 'username'
                where k.conrelid = 'public.profiles'::regclass
                  and k.contype = 'c'
                  and a.attnum = any (k.conkey)
            )
        )
) as rule (name, kept, is_there)
cross join (
    select value #>> '{}' as value
    from accountctl.settings
    where name = 'profiles.origin'
) as origin;
