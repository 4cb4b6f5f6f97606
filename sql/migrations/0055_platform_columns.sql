-- accountctl: bundle=core
-- A view, and a function whose body is kept parsed, hold the columns that they name: the auth server's next migration that changes
-- the type of one would be refused, and the auth server would not start. What names them is kept as text.

create or replace function accountctl.account_open()
returns boolean
language sql
stable
security definer
set search_path = pg_catalog, pg_temp
as $$
    select exists (
        select
        from auth.users
        where users.id = (select auth.uid())
          and (users.banned_until is null or users.banned_until <= now())
          and users.deleted_at is null
          and not exists (
              select
              from accountctl.deletion_requests
              where deletion_requests.user_id = users.id
                and deletion_requests.finished_at is null
                and deletion_requests.locked_out_at is not null
          )
    )
$$;

-- Without a path of its own: only so is it taken apart where it is asked, and one account found by its key. All its names are full.
create function accountctl.find_relay_accounts()
returns table (
    user_id uuid,
    address text,
    apple_claim boolean,
    known_by text,
    forwarding text,
    forwarding_changed_at timestamptz
)
language sql
stable
as $$
    select
        users.id,
        lower(coalesce(known.address, identity.email, users.email)),
        coalesce(known.apple_claim, identity.claim),
        case
            when coalesce(known.apple_claim, identity.claim) is null then 'domain'
            else 'claim'
        end,
        coalesce(known.forwarding, 'unknown'),
        known.forwarding_changed_at
    from auth.users
    left join accountctl.relay_addresses as known
        on known.user_id = users.id
    left join lateral (
        select
            nullif(identities.identity_data ->> 'email', '') as email,
            -- A sign-in of today adds to what an old one left: the newer place counts.
            case lower(coalesce(
                identities.identity_data #>> '{custom_claims,is_private_email}',
                identities.identity_data ->> 'is_private_email'
            ))
                when 'true' then true
                when 'false' then false
            end as claim
        from auth.identities
        where identities.user_id = users.id
          and identities.provider = 'apple'
        order by identities.created_at desc, identities.provider_id desc
        limit 1
    ) as identity
        on true
    where users.deleted_at is null
      -- Old identities have a claim and no address.
      and coalesce(known.address, identity.email, users.email) <> ''
      and coalesce(
          known.apple_claim,
          identity.claim,
          split_part(lower(coalesce(known.address, identity.email, users.email)), '@', -1)
              = any ((select accountctl.relay_domains())::text[])
          and strpos(coalesce(known.address, identity.email, users.email), '@') > 0,
          false
      )
$$;

revoke execute on function accountctl.find_relay_accounts() from public;

comment on function accountctl.find_relay_accounts() is 'What the view accountctl.relay_accounts shows.';

create or replace view accountctl.relay_accounts as
select
    user_id,
    address,
    apple_claim,
    known_by,
    forwarding,
    forwarding_changed_at
from accountctl.find_relay_accounts();
