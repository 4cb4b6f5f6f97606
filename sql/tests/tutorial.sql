-- The Swift tutorial's own statements, as PostgREST and the Storage server make them of the app's calls, signed in as the
-- user: they work unchanged.
begin;
set local search_path = public, tap, tests;
select * from no_plan();

select sign_up('Anna');
select sign_up('Bert');
update public.profiles set username = 'bert' where id = id('Bert');

-- supabase.from("profiles").select().eq("id", value: user.id).single(); Swift writes a UUID in capitals.
select is(
    answer(
        'authenticated', token('Anna'),
        format('select count(*) from (select * from public.profiles where id = %L) as one', upper(id('Anna')::text))
    ),
    '1', 'one''s own profile is read'
);

-- supabase.from("profiles").update(profile).eq("id", value: user.id); it asks for the row back.
select is(
    act(
        'authenticated', token('Anna'),
        format(
            'update public.profiles set username = ''anna'', full_name = ''Anna Ahlers'', website = ''https://anna.example'', '
            'avatar_url = ''6F1C.jpeg'' where id = %L returning *', upper(id('Anna')::text)
        )
    ),
    1::bigint, 'username, full name, website and avatar_url are updated'
);
select results_eq(
    format('select username, full_name, website, avatar_url from public.profiles where id = %L', id('Anna')),
    $$ values ('anna', 'Anna Ahlers', 'https://anna.example', '6F1C.jpeg') $$,
    'the updated values stand in the table'
);
select is(
    probe(
        'authenticated', token('Anna'), format('update public.profiles set username = ''an'' where id = %L', id('Anna'))
    ),
    '23514', 'a username of two characters is refused'
);
select is(
    probe(
        'authenticated', token('Anna'), format('update public.profiles set username = ''bert'' where id = %L', id('Anna'))
    ),
    '23505', 'a username that is taken is refused'
);

-- supabase.storage.from("avatars").upload("<UUID>.jpeg", data: ...): the server first tries the insert and takes it back,
-- then stores the file, then makes the row.
select is(
    act(
        'authenticated', token('Anna'),
        format(
            'insert into storage.objects (bucket_id, name, owner, owner_id, version, metadata) '
            'values (''avatars'', ''6F1C.jpeg'', %1$L, %1$L, ''1'', ''{"mimetype": "image/jpeg"}'') returning *', id('Anna')
        )
    ),
    1::bigint, 'an avatar is uploaded'
);
-- supabase.storage.from("avatars").download(path: avatarURL)
select is(
    answer(
        'authenticated', token('Anna'),
        'select version from storage.objects where bucket_id = ''avatars'' and name = ''6F1C.jpeg'''
    ),
    '1', 'an avatar is downloaded'
);

select * from finish();
rollback;
