-- What happens at sign-up, and the name that Apple gives once.
begin;
set local search_path = public, tap, tests;
select * from no_plan();

select sign_up('Anna', '{"full_name": " Anna Ahlers ", "avatar_url": "https://example.com/a.png"}');
select results_eq(
    format('select full_name, avatar_url, username from public.profiles where id = %L', id('Anna')),
    $$ values ('Anna Ahlers', 'https://example.com/a.png', null::text) $$,
    'a new account gets its profile, from what the provider told'
);

-- Apple, native: no name in the token.
select sign_up('Bert', '{"sub": "001999.bert", "full_name": ""}');
select is(
    (select full_name from public.profiles where id = id('Bert')), null,
    'an account without a name has a profile without one'
);
select act(
    'supabase_auth_admin', null,
    format(
        'update auth.users set raw_user_meta_data = raw_user_meta_data || ''{"full_name": "Bert Brandt"}'' where id = %L',
        id('Bert')
    )
);
select is(
    (select full_name from public.profiles where id = id('Bert')), 'Bert Brandt',
    'the name arrives although the app stores it only after the first sign-in'
);

-- Cleared by the person.
select act(
    'authenticated', token('Bert'), format('update public.profiles set full_name = '''' where id = %L', id('Bert'))
);
select act(
    'supabase_auth_admin', null,
    format(
        'update auth.users set raw_user_meta_data = raw_user_meta_data || ''{"full_name": "Bert B."}'', updated_at = now() '
        'where id = %L', id('Bert')
    )
);
select act(
    'supabase_auth_admin', null,
    format('update auth.users set last_sign_in_at = now(), raw_user_meta_data = raw_user_meta_data where id = %L', id('Bert'))
);
select is((select full_name from public.profiles where id = id('Bert')), '', 'a name cleared later stays cleared');

-- Blanks are no name, and none of a name. Whose profile has no name either keeps none.
select sign_up('Hugo', '{"full_name": "  ", "avatar_url": "  "}');
select sign_up('Ida', '{"avatar_url": " https://example.com/i.png "}');
select results_eq(
    format('select full_name, avatar_url from public.profiles where id in (%L, %L) order by avatar_url', id('Hugo'), id('Ida')),
    $$ values (null::text, 'https://example.com/i.png'), (null, null) $$,
    'blanks are left out'
);
update public.profiles set full_name = '  ' where id = id('Hugo');
update auth.users set raw_user_meta_data = '{"full_name": " Hugo Hahn "}' where id = id('Hugo');
select is(
    (select full_name from public.profiles where id = id('Hugo')), 'Hugo Hahn',
    'a name that arrives later replaces blanks'
);
select is(
    (select full_name from public.profiles where id = id('Ida')), null,
    'a name that arrives later goes to no other profile'
);

-- A name that the person chose is not overwritten.
select sign_up('Cleo');
update public.profiles set full_name = 'Chosen' where id = id('Cleo');
update auth.users set raw_user_meta_data = '{"full_name": "Cleo Conrad"}' where id = id('Cleo');
select is((select full_name from public.profiles where id = id('Cleo')), 'Chosen', 'a chosen name is not overwritten');
select is((select full_name from public.profiles where id = id('Anna')), 'Anna Ahlers', 'nobody else''s name is touched');

-- Metadata that is empty or not of the usual form.
select lives_ok($$ select sign_up('Dora', null) $$, 'an account without metadata signs up');
select lives_ok(
    $$ select sign_up('Eve', '{"full_name": {"first": "Eve"}}') $$,
    'an account whose name is a JSON object signs up'
);
select is(
    (select full_name from public.profiles where id = id('Dora')), null,
    'an account without metadata has a profile without a name'
);
select lives_ok(
    format('update auth.users set raw_user_meta_data = ''{"full_name": "Dora"}'' where id = %L', id('Dora')),
    'metadata may be added where there was none'
);
select is(
    (select full_name from public.profiles where id = id('Dora')), 'Dora',
    'the name in metadata that was added later arrives'
);

-- Never in the way of the Auth server.
create function pg_temp.refuse() returns trigger language plpgsql as $$
begin
    raise exception 'no names today';
end
$$;
select sign_up('Finn');
create trigger refuse before update on public.profiles for each row execute function pg_temp.refuse();
select lives_ok(
    format(
        'select act(''supabase_auth_admin'', null, %L)',
        format('update auth.users set raw_user_meta_data = ''{"full_name": "Finn"}'' where id = %L', id('Finn'))
    ),
    'a table that refuses the name does not make signing in fail'
);
drop trigger refuse on public.profiles;
create trigger second after insert on auth.users for each row execute function public.handle_new_user();
select lives_ok($$ select sign_up('Gus', '{"full_name": "Gus"}') $$, 'a profile that is there already is no error');

-- The account goes, the profile goes.
select act('supabase_auth_admin', null, format('delete from auth.users where id = %L', id('Anna')));
select is(
    (select count(*) from public.profiles where id = id('Anna')), 0::bigint,
    'the profile goes with the account, even when the Auth server deletes it'
);
select throws_ok(
    format('select act(''authenticated'', %L, ''select public.handle_new_user()'')', token('Bert')), '42501', null,
    'nobody calls the trigger''s function'
);

select * from finish();
rollback;
