"""Links from the HTML representations of estimators to the site."""

import re
from urllib.parse import unquote

import pytest
from sklearn.base import BaseEstimator

import sklofi._documentation
from site_tools.capabilities import estimators
from site_tools.doors import homes
from sklofi import GraphKernelSVC

ESTIMATORS = {type(estimator).__name__: estimator for estimator in estimators()}


@pytest.fixture
def address(monkeypatch):
    monkeypatch.setattr(sklofi._documentation, "ADDRESS", "https://docs.test/sklofi/")
    return "https://docs.test/sklofi"


def test_without_an_address_there_are_no_links(monkeypatch):
    monkeypatch.setattr(sklofi._documentation, "ADDRESS", None)
    shown = GraphKernelSVC()._repr_html_()
    assert "GraphKernelSVC" in shown
    assert "href" not in re.sub(r"<style>.*?</style>|<script>.*?</script>", "", shown, flags=re.S)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_each_estimator_links_to_its_page(name, address):
    link = ESTIMATORS[name]._get_doc_link()
    assert link == f"{address}/api/{homes()[name]}.{name}.html"


def test_representations_link_to_the_page_and_to_each_parameter(address):
    pytest.importorskip("sklearn.utils._repr_html", reason="comes with scikit-learn 1.8")
    shown = unquote(GraphKernelSVC()._repr_html_())
    assert f'href="{address}/api/sklofi.GraphKernelSVC.html"' in shown
    assert f"{address}/api/sklofi.GraphKernelSVC.html#:~:text=n_iter,-int" in shown


def test_estimators_of_others_link_nowhere(address):
    class Mine(GraphKernelSVC):
        pass

    assert issubclass(Mine, BaseEstimator)
    assert Mine()._get_doc_link() == ""
