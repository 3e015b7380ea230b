-- Made-up people, in place of a table of yours. It holds the secret: keep it in the house.
{{ config(materialized="table") }}
select
    ['Ashford', 'Birch', 'Clayton'][1 + cast(hash(i) % 3 as integer)] as town,
    case when hash(i + 100000) % 10 < 3 then 'yes' else 'no' end as smoker,
    case when hash(i + 200000) % 20 < 3 + hash(i) % 3 * 4 then 'yes' else 'no' end as ill
from range(6000) as people(i)
